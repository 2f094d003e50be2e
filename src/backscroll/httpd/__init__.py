"""What every HTTP server here shares: listening, access control and connection limits. It has no routes of its own."""
