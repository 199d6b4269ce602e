"""The data sources of the settings, by their names.

They are declared in `datasources.json` of the project; what they are is in `ostiary.connector`::

    from ostiary.datasources import data_source


    def locate(street, city):
        return data_source("geo").geocode(street=street, city=city)
"""

from app.datasources import data_source

__all__ = ["data_source"]
