"""Migrations of the product and of the project, by Alembic, and the commands `ostiary db`."""
