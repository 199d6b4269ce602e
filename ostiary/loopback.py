"""Stubs for the code of a LoopBack 3 application, as `ostiary loopback import` writes them.

`ostiary loopback todo` lists them. To implement one, remove its decorator, and connect the hook or
role, or add the route::

    from typing import Any

    from ostiary.loopback import NotWritten, hook_stub, method_stub, role_stub, route_stub


    @method_stub("Tool.lend", "POST /Tools/{id}/lend")
    def lend(tool: Any) -> Any:
        '''Borrow a tool: answers 501 with the name of the method.'''


    @hook_stub("Tool: before save")
    def before_save(resource: Any, event: Any) -> None:
        '''Does nothing, and is not connected.'''


    @role_stub("borrower")
    def borrower(user_id: Any) -> Any:
        '''A role that nobody has.'''


    @route_stub("GET /status")
    def status(**arguments: Any) -> Any:
        '''Is not served yet: `init_app` of project.py adds it.'''


    try:
        lend(None)
    except NotWritten as error:
        print(error.description)
"""

from app.definitions.stubs import hook_stub, method_stub, role_stub, route_stub
from app.errors import NotWritten

__all__ = ["NotWritten", "hook_stub", "method_stub", "role_stub", "route_stub"]
