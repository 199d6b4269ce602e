"""The configured data sources, by name.

They are declared in the project's `datasources.json`, and described in `ostiary.connector`::

    from ostiary.datasources import data_source


    def locate(street, city):
        return data_source("geo").geocode(street=street, city=city)
"""

from app.datasources import data_source

__all__ = ["data_source"]
