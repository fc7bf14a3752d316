import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.endpoint import FORMS, Endpoint, Scheme, parse_endpoint
from ghost.core.errors import ConfigError

BY_PATH = "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0"


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("serial:///dev/ttyACM0:921600", Endpoint(Scheme.SERIAL, "/dev/ttyACM0", 921600)),
        (f"serial://{BY_PATH}:57600", Endpoint(Scheme.SERIAL, BY_PATH, 57600)),
        ("serial:///dev/ttyS1:12500000", Endpoint(Scheme.SERIAL, "/dev/ttyS1", 12_500_000)),
        ("udpin://0.0.0.0:14540", Endpoint(Scheme.UDP_IN, "0.0.0.0", 14540)),  # noqa: S104
        ("udpin://127.0.0.1:0", Endpoint(Scheme.UDP_IN, "127.0.0.1", 0)),
        ("udpout://px4-sitl.local:65535", Endpoint(Scheme.UDP_OUT, "px4-sitl.local", 65535)),
        (
            "udpout://127.0.0.1:14540?local=18540",
            Endpoint(Scheme.UDP_OUT, "127.0.0.1", 14540, 18540),
        ),
        ("tcpin://[::1]:5760", Endpoint(Scheme.TCP_IN, "[::1]", 5760)),
        ("tcpout://[fe80::1%eth0]:1", Endpoint(Scheme.TCP_OUT, "[fe80::1%eth0]", 1)),
    ],
)
def test_every_form_is_read_and_written_back(url: str, endpoint: Endpoint) -> None:
    assert parse_endpoint(url) == endpoint
    assert str(endpoint) == url


@pytest.mark.parametrize("url", FORMS)
def test_the_forms_that_an_error_shows_are_right(url: str) -> None:
    assert str(parse_endpoint(url)) == url


def test_zeros_before_a_number_do_not_change_it() -> None:
    assert parse_endpoint(f"udpin://127.0.0.1:{'0' * 20}14540").number == 14540


@pytest.mark.parametrize(
    ("url", "says"),
    [
        *[
            (url, "expected a form like serial:///dev/ttyACM0:921600 or udpin://")
            for url in (
                "",
                "14540",
                "/dev/ttyACM0",
                "serial:/dev/ttyACM0:57600",
                "serial:///dev/ttyACM0",
                "udp://127.0.0.1:14540",
                "UDPIN://127.0.0.1:14540",
                "udpin://127.0.0.1",
                "udpin://:14540",
                "://127.0.0.1:1",
            )
        ],
        *[
            (url, "expected none, or the port that a udpout link speaks from")
            for url in (
                "udpout://127.0.0.1:14540?",
                "udpout://127.0.0.1:14540?local=0",
                "udpout://127.0.0.1:14540?local=65536",
                "udpout://127.0.0.1:14540?from=5",
                "udpin://127.0.0.1:14540?local=5",
                "serial:///dev/ttyACM0:57600?local=5",
            )
        ],
        ("serial://dev/ttyACM0:57600", "a device begins with a slash: serial:///dev/ttyACM0"),
        ("serial://COM3:57600", "a device begins with a slash"),
        ("serial:///dev/ttyACM0:fast", "a baud rate of 'fast'; expected a number"),
        ("serial:///dev/ttyACM0:", "a baud rate of ''; expected a number"),
        ("serial:///dev/ttyACM0:300", "a baud rate of 300; expected 1200 to 12500000"),
        ("serial:///dev/ttyACM0:99999999", "a baud rate of 99999999; expected"),
        ("udpout://127.0.0.1:mavlink", "a port of 'mavlink'; expected a number"),
        ("udpout://127.0.0.1:-1", "a port of '-1'; expected a number"),
        ("udpout://127.0.0.1:1٢", "a port of '1٢'; expected a number"),
        ("udpout://127.0.0.1:0", "a port of 0; expected 1 to 65535"),
        ("tcpout://127.0.0.1:0", "a port of 0; expected 1 to 65535"),
        ("tcpin://127.0.0.1:65536", "a port of 65536; expected 1 to 65535"),
        ("tcpin://127.0.0.1:" + "9" * 5000, "a port of 999999999999; expected 1 to 65535"),
        ("udpin:///127.0.0.1:14540", "a host of '/127.0.0.1'; expected a name, 192.168.1.5"),
        ("udpin://::1:14540", "a host of '::1'; expected a name, 192.168.1.5 or [fe80::1]"),
        ("udpin://a b:14540", "a host of 'a b'"),
        ("tcpout://me@host:1", "a host of 'me@host'"),
        ("tcpout://host:1:2", "a host of 'host:1'"),
    ],
)
def test_a_bad_one_is_refused_with_what_was_expected(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_endpoint(url)
    assert says in str(caught.value)
    assert repr(url) in str(caught.value)


@given(st.text() | st.from_regex(r"(serial|udpin|tcpout)://[^\n]*:[0-9]+"))
def test_any_text_is_an_endpoint_or_a_config_error(url: str) -> None:
    try:
        endpoint = parse_endpoint(url)
    except ConfigError:
        return
    assert parse_endpoint(str(endpoint)) == endpoint
