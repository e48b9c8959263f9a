"""The MCP edge: parse a tool call, ask the actions, answer."""
