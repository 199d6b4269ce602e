"""The jobs of the service and of the project, with their last runs."""

from collections.abc import Mapping, Sequence

from werkzeug.exceptions import Conflict

from app import errors
from app.access.rules import EXECUTE, READ
from app.admin.calls import call
from app.admin.schemas import JobSchema
from app.jobs import claims
from app.jobs.running import worker

UNKNOWN_JOB = errors.ModelNotFound("job", "purge-expired")
IS_RUNNING = Conflict("The job purge-expired is running.")


@call(
    "findJobs", READ, "GET /jobs", answer=[JobSchema], summary="List the jobs with their last runs"
)
def find_jobs() -> Sequence[Mapping[str, object]]:
    """List the jobs with their last runs."""
    return claims.list_jobs()


@call(
    "runJob",
    EXECUTE,
    "POST /jobs/<name>/run",
    is_deferred=True,
    errors=(UNKNOWN_JOB, IS_RUNNING),
    summary="Let a process of the service run a job now, unless it is running",
)
def run_job(name: str) -> None:
    """Let a process of the service run a job now, unless it is running."""
    claims.request_run(name)
    worker.current.wake()
