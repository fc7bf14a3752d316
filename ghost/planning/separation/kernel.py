"""Velocities that keep vehicles apart, chosen by one vehicle after the other.

A plan is to fly for one step and then to brake straight to rest. All plans together are free of
conflicts, at first that of everybody to brake at once. Each vehicle in turn changes its own for
a better one that leaves them so, or keeps braking. So what was safe stays safe, whatever the
choice, and acceleration never exceeds its limit. What is better is a matter of liveness alone:
near the velocity that is wanted, on the right rather than on the left, and not into anybody's way.

All is horizontal. The columns of now are east, north, their velocities, the velocity wanted, the
room needed beyond the rule's, and whether it follows the rule: who doesn't is expected to go on as
it goes. Those of plan are place and velocity after the step, and what the others are to expect.
Those of tries are cosine and sine of a turn, a share of the speed, and what it costs. Those of
fence are the two ends of its edges. rule is distance, speed, acceleration and step.

It is a kernel (docs/adr/0008-kernels.md).
"""

import math
from typing import Any


def keep_apart(now: Any, plan: Any, tries: Any, fence: Any, rule: Any) -> None:
    distance, speed, acceleration, step_s = rule[0], rule[1], rule[2], rule[3]
    change = acceleration * step_s
    distance += 0.5 * change * step_s  # who is slower than one step's change stops late by a little
    count = now.shape[0]
    for i in range(count):
        plan[i, 4], plan[i, 5] = now[i, 2], now[i, 3]
        if now[i, 7] > 0.0:
            _aim(now, plan, i, 0.0, 0.0, change, step_s)
        else:
            plan[i, 0], plan[i, 1] = now[i, 0] + now[i, 2] * step_s, now[i, 1] + now[i, 3] * step_s
            plan[i, 2], plan[i, 3] = now[i, 2], now[i, 3]
    for i in range(count):
        if now[i, 7] == 0.0:
            continue
        we, wn = now[i, 4], now[i, 5]
        size = math.sqrt(we * we + wn * wn)
        if size > speed:
            we, wn, size = we * speed / size, wn * speed / size, speed
        haste = max(size / speed, 0.1)
        pace = max(size, 0.3 * speed)
        eagerness = size / pace
        be, bn = 1.0, 0.0
        if size > 1e-9:
            be, bn = we / size, wn / size
        least, best_e, best_n = 1e300, 0.0, 0.0
        roomiest, roomy_e, roomy_n = -1e300, 0.0, 0.0
        for k in range(tries.shape[0]):
            ue, un, cost = we, wn, 0.0
            if k > 0:
                share = tries[k, 2]
                ue = pace * share * (be * tries[k, 0] - bn * tries[k, 1])
                un = pace * share * (bn * tries[k, 0] + be * tries[k, 1])
                cost = tries[k, 3] * eagerness + share * (1.0 - eagerness)
            cost += _foresight(now, plan, i, ue, un, distance + 0.3, haste)
            if cost >= least:
                continue
            _aim(now, plan, i, ue, un, change, step_s)
            if fence.shape[0] > 0 and _leaves(now, plan, i, fence, acceleration):
                continue
            room = _room(now, plan, i, distance, acceleration, 1.0)
            if room >= 0.0:
                least, best_e, best_n = cost, ue, un
                if cost == 0.0:
                    break
            elif room > roomiest:
                roomiest, roomy_e, roomy_n = room, ue, un
        if least < 1e300:
            _aim(now, plan, i, best_e, best_n, change, step_s)
        else:
            _aim(now, plan, i, 0.0, 0.0, change, step_s)
            best_e, best_n = plan[i, 2], plan[i, 3]
            # Too near already, however it is reckoned: away, by the quickest way.
            if (
                _room(now, plan, i, distance, acceleration, -1.0) < -0.0005
                and _room(now, plan, i, distance, acceleration, 1.0) < roomiest
            ):
                _aim(now, plan, i, roomy_e, roomy_n, change, step_s)
        # Who hardly gets on shows where it wants to go, so that those behind it in order make way.
        if best_e * we + best_n * wn < 0.3 * size * size:
            plan[i, 4], plan[i, 5] = we, wn
        else:
            plan[i, 4], plan[i, 5] = best_e, best_n


def _aim(now: Any, plan: Any, i: int, ue: float, un: float, change: float, step_s: float) -> None:
    """Towards a velocity, as far as it goes in one step."""
    de, dn = ue - now[i, 2], un - now[i, 3]
    size = math.sqrt(de * de + dn * dn)
    share = 1.0 if size <= change else change / size
    plan[i, 2], plan[i, 3] = now[i, 2] + share * de, now[i, 3] + share * dn
    plan[i, 0] = now[i, 0] + 0.5 * (now[i, 2] + plan[i, 2]) * step_s
    plan[i, 1] = now[i, 1] + 0.5 * (now[i, 3] + plan[i, 3]) * step_s


def _foresight(
    now: Any,
    plan: Any,
    i: int,
    ue: float,
    un: float,
    distance: float,
    haste: float,
) -> float:
    """What it costs to aim at a velocity when all others go on as they aim: 3 for who is met at
    once, nothing for who is met 4 s on. Slow ones look less far ahead, or they would never arrive
    beside each other.
    """
    first_s = 4.0 * haste
    for j in range(now.shape[0]):
        if j == i:
            continue
        reach = distance + now[i, 6] + now[j, 6]
        pe, pn = now[j, 0] - now[i, 0], now[j, 1] - now[i, 1]
        ve, vn = ue - plan[j, 4], un - plan[j, 5]
        closing = pe * ve + pn * vn
        if closing <= 0.0:
            continue
        squared = ve * ve + vn * vn
        away = pe * pe + pn * pn - reach * reach
        if away <= 0.0:
            first_s = 0.0
            continue
        root = closing * closing - squared * away
        if root <= 0.0:
            continue
        at_s = (closing - math.sqrt(root)) / squared
        first_s = min(first_s, at_s)
    return 3.0 * (haste - 0.25 * first_s)


def _room(now: Any, plan: Any, i: int, distance: float, acceleration: float, care: float) -> float:
    """How much farther apart than it must be it stays, from the nearest, on all plans."""
    room = 1e300
    for j in range(now.shape[0]):
        if j != i:
            reach = distance + now[i, 6] + now[j, 6]
            room = min(room, _nearest(now, plan, i, j, reach, acceleration, care) - reach)
    return room


def _nearest(
    now: Any, plan: Any, i: int, j: int, reach: float, acceleration: float, care: float
) -> float:
    """How near two come to each other until they stand: with a care of 1 a little less than that,
    never more, with -1 a little more.

    On their way in straight pieces, from which they stray by the square of a piece's duration.
    """
    pe, pn = plan[j, 0] - plan[i, 0], plan[j, 1] - plan[i, 1]
    ie, in_ = plan[i, 2], plan[i, 3]
    je, jn = plan[j, 2], plan[j, 3]
    i_speed, j_speed = math.sqrt(ie * ie + in_ * in_), math.sqrt(je * je + jn * jn)
    i_s = i_speed / acceleration
    j_brakes = now[j, 7] > 0.0
    j_s = j_speed / acceleration if j_brakes else i_s
    away = math.sqrt(pe * pe + pn * pn)
    j_way = 0.5 * j_speed * j_s if j_brakes else j_speed * j_s
    far = away - 0.5 * i_speed * i_s - j_way
    if far >= reach:
        return far
    piece_s = max(i_s, j_s) / 10.0
    nearest = away
    le, ln = pe, pn
    for piece in range(1, 11):
        at_s = piece * piece_s
        t = min(at_s, i_s)
        i_share = t - 0.5 * t * t / i_s if i_s > 0.0 else 0.0
        if j_brakes:
            t = min(at_s, j_s)
            j_share = t - 0.5 * t * t / j_s if j_s > 0.0 else 0.0
        else:
            j_share = at_s
        ne, nn = pe + je * j_share - ie * i_share, pn + jn * j_share - in_ * i_share
        de, dn = ne - le, nn - ln
        squared = de * de + dn * dn
        along = -(le * de + ln * dn)
        if along >= squared:
            near = math.sqrt(ne * ne + nn * nn)
        elif along <= 0.0:
            near = math.sqrt(le * le + ln * ln)
        else:
            near = abs(le * dn - ln * de) / math.sqrt(squared)
        nearest = min(nearest, near)
        le, ln = ne, nn
    return nearest - care * 0.25 * acceleration * piece_s * piece_s


def _leaves(now: Any, plan: Any, i: int, fence: Any, acceleration: float) -> bool:
    """Whether the way of the step, or from there until it stands, crosses the fence."""
    pe, pn, ve, vn = plan[i, 0], plan[i, 1], plan[i, 2], plan[i, 3]
    stop_s = 0.5 * math.sqrt(ve * ve + vn * vn) / acceleration
    for edge in range(fence.shape[0]):
        if _crosses(now[i, 0], now[i, 1], pe, pn, fence, edge):
            return True
        if _crosses(pe, pn, pe + ve * stop_s, pn + vn * stop_s, fence, edge):
            return True
    return False


def _crosses(pe: float, pn: float, qe: float, qn: float, fence: Any, edge: int) -> bool:
    ae, an, ce, cn = fence[edge, 0], fence[edge, 1], fence[edge, 2], fence[edge, 3]
    of_p = (ce - ae) * (pn - an) - (cn - an) * (pe - ae)
    of_q = (ce - ae) * (qn - an) - (cn - an) * (qe - ae)
    of_a = (qe - pe) * (an - pn) - (qn - pn) * (ae - pe)
    of_c = (qe - pe) * (cn - pn) - (qn - pn) * (ce - pe)
    return bool(of_p * of_q <= 0.0 and of_a * of_c <= 0.0)
