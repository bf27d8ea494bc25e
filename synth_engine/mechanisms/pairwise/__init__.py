"""What methods that measure pairs of columns share: candidates, which are worth their noise, rounds, growing
networks."""
