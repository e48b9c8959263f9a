"""The MCP server over the tools: lists them and calls them, by the protocol's own library."""

from contextvars import ContextVar
from importlib import metadata

import orjson
from mcp import types
from mcp.server import Server, ServerRequestContext

from cortex.memory.actions import EVERYBODY, Caller
from cortex.memory.mcp.calls import Answered, call
from cortex.memory.mcp.outputs import schema_of
from cortex.memory.mcp.tools import TOOLS, Actions, Tool

INSTRUCTIONS = (
    "A long-term memory of projects. Keep what should be known later with AddItem or AddItems, "
    "find it with FindItems (ask the same thing in up to four ways), read it whole with GetItem. "
    "Every item belongs to a project; ListProjects names them."
)

current_caller: ContextVar[Caller] = ContextVar("current_caller", default=EVERYBODY)


def version() -> str:
    """The product's version."""
    return metadata.version("cortex-stack")


SERVER_INFO = {"name": "cortex-memory", "title": "Cortex memory", "version": version()}
"""How the server introduces itself."""


def build(actions: Actions) -> Server[dict[str, object]]:
    """The server, ready to be mounted."""
    listed = types.ListToolsResult(tools=[_as_listed(tool) for tool in TOOLS.values()])

    async def list_tools(
        _context: ServerRequestContext[dict[str, object]],
        _params: types.PaginatedRequestParams | None,
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(
        _context: ServerRequestContext[dict[str, object]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return _result(await call(actions, current_caller.get(), params.name, params.arguments))

    # Clients ask for both lists without looking at what is offered; an error would alarm them.
    async def list_resources(
        _context: ServerRequestContext[dict[str, object]],
        _params: types.PaginatedRequestParams | None,
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def list_templates(
        _context: ServerRequestContext[dict[str, object]],
        _params: types.PaginatedRequestParams | None,
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def list_prompts(
        _context: ServerRequestContext[dict[str, object]],
        _params: types.PaginatedRequestParams | None,
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    return Server(
        SERVER_INFO["name"],
        # Asked for `x-mcp-header` parameters, which no tool of ours has. Without this the library
        # lists all tools anew at each modern-era call, a fifth of its time.
        get_tool_input_schema=lambda _name: None,
        version=SERVER_INFO["version"],
        title=SERVER_INFO["title"],
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_list_prompts=list_prompts,
    )


def _as_listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=" ".join((tool.takes.__doc__ or "").split()),
        input_schema=schema_of(tool.takes),
        output_schema=schema_of(tool.gives),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.reads or tool.idempotent,
            open_world_hint=False,
        ),
    )


def _result(answered: Answered) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answered.text)],
        structured_content=None if answered.is_error else orjson.loads(answered.text),
        is_error=answered.is_error,
    )
