"""How the command line talks to the running service: calls over a Unix socket.

A connection carries one call. The client sends one line of JSON, {"call": NAME, ...arguments}; the
service answers with any number of lines {"event": {...}} and one last {"result": ...} or
{"error": {"code", "what", "mend", "exit_status"}}. A client that hangs up ends its call.
"""
