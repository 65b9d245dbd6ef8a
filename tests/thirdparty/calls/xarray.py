"""Arrays with named axes and labels: arithmetic that lines labels up, groups, windows, interpolation."""

from __future__ import annotations

import numpy as np
import xarray as xr

from thirdparty.harness import Call

DISTRIBUTION = "xarray"
FIELD = "labelled arrays"
HELD_OUT = True

FIELD_OF_HEAT = 280.0 + 10.0 * np.sin(np.arange(12.0)).reshape(4, 3)


def labelled(values: np.ndarray) -> xr.DataArray:
    return xr.DataArray(values, dims=("time", "place"), coords={"time": [0, 1, 2, 3], "place": ["a", "b", "c"]})


def anomaly(values: np.ndarray) -> np.ndarray:
    field = labelled(values)
    return (field - field.mean("time")).values ** 2


def weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    shares = xr.DataArray(weights, dims="place", coords={"place": ["a", "b", "c"]})
    return labelled(values).weighted(shares).mean("place").data


def lined_up(values: np.ndarray) -> np.ndarray:
    field = labelled(values)
    return (field.isel(time=slice(1, None)) * field.sel(place=["a", "c"])).values


def by_group(values: np.ndarray) -> np.ndarray:
    field = labelled(values).assign_coords(half=("time", [0, 0, 1, 1]))
    return field.groupby("half").mean().values ** 2


def windows(values: np.ndarray) -> np.ndarray:
    return labelled(values).rolling(time=2).construct("window").sum("window").values ** 2


def between(values: np.ndarray, at: float) -> np.ndarray:
    return labelled(values).interp(time=at).values


def chosen(values: np.ndarray) -> np.ndarray:
    field = labelled(values)
    return field.where(field > 1.0, 0.0).cumsum("time").diff("place").values ** 2


def data_set(heat: np.ndarray, pressure: float) -> np.ndarray:
    ds = xr.Dataset({"heat": labelled(heat)}).assign(density=lambda d: pressure / (287.0 * d.heat))
    return ds.density.differentiate("time").values * ds.heat.std("place").values[:, None]


def by_function(values: np.ndarray) -> np.ndarray:
    return xr.apply_ufunc(np.hypot, labelled(values), 100.0).integrate("time").values


def products(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return xr.dot(labelled(values), xr.DataArray(weights, dims="place"), dim="place").values


SHARES = np.array([0.2, 0.5, 0.3])
CALLS = {
    "anomaly": Call(anomaly, FIELD_OF_HEAT),
    "weighted": Call(weighted, FIELD_OF_HEAT, SHARES),
    "lined_up": Call(lined_up, FIELD_OF_HEAT),
    "by_group": Call(by_group, FIELD_OF_HEAT),
    "windows": Call(windows, FIELD_OF_HEAT),
    "between": Call(between, FIELD_OF_HEAT, 1.3),
    "chosen": Call(chosen, FIELD_OF_HEAT - 280.0),
    "data_set": Call(data_set, FIELD_OF_HEAT, 1e5),
    "by_function": Call(by_function, FIELD_OF_HEAT),
    "products": Call(products, FIELD_OF_HEAT, SHARES),
}
