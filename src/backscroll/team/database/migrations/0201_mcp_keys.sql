-- A key for an agent that asks over MCP is good for nothing else.

alter table api_key drop constraint api_key_scopes_check;
alter table api_key add constraint api_key_scopes_check check (scopes <@ array['read', 'metrics', 'mcp']);
