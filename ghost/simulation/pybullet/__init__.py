"""PyBullet as a simulator: worlds with solid things in them, contact, and pictures."""
