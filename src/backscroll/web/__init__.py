"""The web door: pages, the HTTP API and live events, on this machine alone unless the user says otherwise."""
