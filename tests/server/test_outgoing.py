"""The pieces in which an answer is sent, and what is kept of one that its client does not take."""

import socket

import pytest

from app.server.outgoing import MAX_UNSENT, ClientGoneError, Outgoing, UnreadAnswerError

HEAD, BODY, MORE = b"HTTP/1.1 200 OK\r\n\r\n", b"body", b"more"


@pytest.fixture
def client():
    """Return the client's end of a connection, and the answers on the other one."""
    client, sock = socket.socketpair()
    sock.setblocking(False)
    with client, sock:
        yield client, Outgoing(sock, "", "", timeout=0.05)


def test_more_than_is_kept_waits_for_the_client_for_a_while(client):
    _, outgoing = client

    outgoing.sendall(HEAD)
    outgoing.sendall(bytes(MAX_UNSENT))
    assert not outgoing.is_sent
    with pytest.raises(UnreadAnswerError):
        outgoing.sendall(bytes(MAX_UNSENT))

    assert (outgoing.is_sent, outgoing.unsent) == (True, 0)


def test_what_follows_a_file_is_sent_after_it(client, tmp_path):
    connection, outgoing = client
    (tmp_path / "a").write_bytes(b"." * MAX_UNSENT)

    with (tmp_path / "a").open("rb") as file:
        outgoing.sendall(b"head")
        outgoing.sendfile(file, 0, MAX_UNSENT)
    outgoing.sendall(b"tail")
    received = b""
    while not outgoing.is_sent:
        received += connection.recv(1_000_000)
        outgoing.send_rest()
    received += connection.recv(1_000_000)

    assert received == b"head" + b"." * MAX_UNSENT + b"tail"
    assert (outgoing.unsent, outgoing.file_bytes) == (0, MAX_UNSENT)


def test_a_file_that_has_become_shorter_ends_the_connection(client, tmp_path):
    connection, outgoing = client
    (tmp_path / "a").write_bytes(b"short")

    with (tmp_path / "a").open("rb") as file:
        outgoing.sendfile(file, 0, 1000)
    with pytest.raises(ClientGoneError):
        outgoing.send_rest()

    assert outgoing.is_sent
    assert connection.recv(100) + connection.recv(100) == b"short"


@pytest.fixture
def sent():
    """An answer, and a function that returns the pieces in which it was sent."""
    # Such sockets keep the boundaries of what is sent.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.setblocking(False)

    def pieces():
        found = []
        while True:
            try:
                found.append(theirs.recv(1000))
            except BlockingIOError:
                return found

    with ours, theirs:
        yield Outgoing(ours, "", "", 1), pieces


def test_the_head_of_an_answer_is_sent_with_the_first_part_of_its_body(sent):
    outgoing, pieces = sent

    for _ in range(2):
        outgoing.begin()
        for part in (HEAD, BODY, MORE):
            outgoing.sendall(part)
        outgoing.end()

        assert pieces() == [HEAD + BODY, MORE]


def test_an_answer_without_a_body_is_sent_at_its_end(sent):
    outgoing, pieces = sent

    outgoing.begin()
    outgoing.sendall(HEAD)
    outgoing.end()

    assert pieces() == [HEAD]


def test_the_head_of_a_file_is_sent_before_it(sent, tmp_path):
    outgoing, pieces = sent
    path = tmp_path / "file"
    path.write_bytes(BODY)

    outgoing.begin()
    outgoing.sendall(HEAD)
    with path.open("rb") as file:
        outgoing.sendfile(file, 0, len(BODY))
    outgoing.end()

    assert pieces() == [HEAD, BODY]
