"""The account page: users log in and manage their account without a front end."""
