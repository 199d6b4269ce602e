"""The proxy that counts PostgreSQL's messages."""

from sqlalchemy import create_engine, text

from tests.support.postgres_proxy import counted

PLUS_ONE = text("SELECT :number + 1")


def test_counts_statements_and_round_trips(postgres_url):
    with counted(postgres_url) as traffic:
        engine = create_engine(traffic.url)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            # The driver prepares a statement at its sixth execution, which is one more round trip.
            for number in range(10):
                traffic.messages.clear()
                assert connection.scalar(PLUS_ONE, {"number": number}) == number + 1
        assert (traffic.statements, traffic.round_trips) == (1, 1)

        traffic.messages.clear()
        with engine.begin() as connection:
            connection.execute(PLUS_ONE, {"number": 1})
        assert (traffic.statements, traffic.round_trips) == (3, 3)
        engine.dispose()
