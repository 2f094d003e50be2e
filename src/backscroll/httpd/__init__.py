"""What every HTTP door needs: where it listens, who may come in, and how many at once. Answers nothing itself."""
