/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The route table. To add an endpoint: a row here, its handler in a file of its own, its paragraph in
 * docs/api/openapi.yaml. */
#include "api/api_int.h"

static const struct dg_route routes[] = {
    {DG_HTTP_GET, "/healthz", "healthz", dg_api_healthz},
    {DG_HTTP_GET, "/readyz", "readyz", dg_api_readyz},
    {DG_HTTP_GET, "/metrics", "metrics", dg_api_metrics},
    {DG_HTTP_POST, "/v1/translate", "v1_translate", dg_api_v1_translate},
    {DG_HTTP_GET, "/v1/stream", "v1_stream", dg_api_v1_stream},
    {DG_HTTP_POST, "/v1/detect", "v1_detect", dg_api_v1_detect},
    {DG_HTTP_GET, "/v1/models", "v1_models", dg_api_v1_models},
    {DG_HTTP_GET, "/v1/languages", "v1_languages", dg_api_v1_languages},
};
_Static_assert(sizeof routes / sizeof *routes <= DG_METRICS_ROUTES, "metrics have no room for a route");

const struct dg_route *dg_routes(size_t *n)
{
    if (n)
        *n = sizeof routes / sizeof *routes;
    return routes;
}
