"use strict";
// One cursor through all time charts: the time, each line's value there, the place on the track.
// The drawn lines are the data, so a read-out is as fine as the drawing.
(() => {
  const make = (name, attributes, parent) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    return parent.appendChild(element);
  };
  const size = (element, name) => Number(element.getAttribute(name));
  const runs = (path) =>
    path.getAttribute("d").split("M").slice(1).map((run) => run.split(" ").map((point) => point.split(",").map(Number)));

  const valueAt = (lines, x) => {
    const run = lines.find((points) => points[0][0] <= x && x <= points[points.length - 1][0]);
    if (!run) return null;
    let low = 0;
    let high = run.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (run[middle][0] <= x) low = middle;
      else high = middle;
    }
    const [x0, y0] = run[low];
    const [x1, y1] = run[high];
    return x1 > x0 ? y0 + ((y1 - y0) * (x - x0)) / (x1 - x0) : y0;
  };

  const plots = [...document.querySelectorAll("svg.time svg.plot")].map((plot) => ({
    plot,
    line: make("line", { class: "cursor", y1: 0, y2: size(plot, "height"), visibility: "hidden" }, plot),
    values: [...plot.parentNode.querySelectorAll(".value")],
    paths: [...plot.querySelectorAll("path.series")],
    lines: null,
  }));
  const clock = document.querySelector(".cursor-time");
  const timeline = document.querySelector(".timeline");
  const followed = document.querySelector(".followed");
  const trail = followed && { times: followed.dataset.time.split(" ").map(Number), points: runs(followed).flat() };
  const dot = followed && make("circle", { class: "dot", r: 5, visibility: "hidden" }, followed.parentNode);

  const read = (entry, x) => {
    entry.lines ??= entry.paths.map(runs);
    const { low, high, decimals } = entry.plot.dataset;
    entry.lines.forEach((lines, index) => {
      const y = valueAt(lines, x);
      const value = Number(high) - ((high - low) * y) / size(entry.plot, "height");
      entry.values[index].textContent = y === null ? "\u2013" : value.toFixed(Number(decimals)).replace("-", "\u2212");
    });
  };

  const show = (x) => {
    for (const entry of plots) {
      entry.line.setAttribute("x1", x);
      entry.line.setAttribute("x2", x);
      entry.line.setAttribute("visibility", "visible");
      read(entry, x);
    }
    const share = x / size(plots[0].plot, "width");
    const { start, end } = timeline.dataset;
    clock.textContent = `${(Number(start) + share * (end - start)).toFixed(2)} s`;
    if (trail) {
      const after = trail.times.findIndex((time) => time >= x);
      const [east, north] = trail.points[after === -1 ? trail.points.length - 1 : after];
      dot.setAttribute("cx", east);
      dot.setAttribute("cy", north);
      dot.setAttribute("visibility", "visible");
    }
  };

  // The cursor stays where the pointer left it, so that one can scroll and read.
  const follow = (event) => {
    const { plot } = plots[0];
    const chart = event.currentTarget;
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width - size(plot, "x");
    if (x >= 0 && x <= size(plot, "width")) show(x);
  };
  for (const chart of document.querySelectorAll("svg.time")) {
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
  }
})();
