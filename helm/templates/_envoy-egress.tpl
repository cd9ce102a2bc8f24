{{/* From the gateway to one lane or to fusion: a listener on loopback of its own. */}}
{{- define "lanemesh.envoy.egress" -}}
{{- $envoy := .root.Values.envoy -}}
{{- $peer := .peer -}}
- name: egress-{{ $peer.name }}
  address: {socket_address: {address: 127.0.0.1, port_value: {{ $peer.port }}}}
  filter_chains:
    - filters:
        - name: envoy.filters.network.http_connection_manager
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
            stat_prefix: egress_{{ $peer.name }}
            codec_type: HTTP2
            http2_protocol_options:
              initial_stream_window_size: 1048576
              initial_connection_window_size: 16777216
            # The gateway pings idle connections, and its calls carry their own deadlines.
            stream_idle_timeout: 0s
            generate_request_id: false
            {{- include "lanemesh.envoy.log" (dict "which" $envoy.access_log.egress "direction" "egress") | nindent 12 }}
            http_filters:
              - name: envoy.filters.http.router
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
                  suppress_envoy_headers: true
                  upstream_http_filters:
                    {{- include "lanemesh.envoy.spending" . | nindent 20 }}
                    - name: envoy.filters.http.upstream_codec
                      typed_config:
                        "@type": type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec
            route_config:
              name: egress-{{ $peer.name }}
              # The gateway's channels retry as well, for a mesh without Envoy. This tells them that it has been done.
              response_headers_to_add:
                - {append_action: OVERWRITE_IF_EXISTS_OR_ADD, header: {key: grpc-retry-pushback-ms, value: "-1"}}
              virtual_hosts:
                - name: {{ $peer.name }}
                  domains: ["*"]
                  routes:
                    # A stream of records, and a health check that must not hide a sick replica behind a well one.
                    {{- range $prefix := list "/lanemesh.v1.IndexService/Upsert" "/grpc.health.v1.Health/" }}
                    - match: {prefix: {{ $prefix }}}
                      {{- include "lanemesh.envoy.route" (dict "root" $.root "cluster" $peer.name "retry" "connect-failure,refused-stream") | nindent 22 }}
                    {{- end }}
                    # A call that costs money is not repeated once a lane may have begun it.
                    - match: {prefix: /}
                      {{- $retry := ternary "connect-failure,refused-stream,unavailable" "connect-failure,refused-stream,unavailable,reset" $peer.paid }}
                      {{- include "lanemesh.envoy.route" (dict "root" $.root "cluster" $peer.name "retry" $retry) | nindent 22 }}
{{- end }}

{{/* A route whose calls end by their own deadline and are given none when they have none. */}}
{{- define "lanemesh.envoy.route" -}}
{{- $retry := .root.Values.envoy.retry -}}
route:
  cluster: {{ .cluster }}
  timeout: 0s
  max_stream_duration: {grpc_timeout_header_max: 0s}
  retry_policy:
    retry_on: {{ .retry | quote }}
    num_retries: {{ $retry.times }}
    retry_back_off:
      base_interval: {{ include "lanemesh.envoy.seconds" $retry.first_ms }}
      max_interval: {{ include "lanemesh.envoy.seconds" $retry.longest_ms }}
    retry_host_predicate:
      - name: envoy.retry_host_predicates.previous_hosts
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate
    host_selection_retry_max_attempts: 3
{{- end }}

{{/* Envoy sends a retry with the deadline of the first try. What that one spent is taken off here. */}}
{{- define "lanemesh.envoy.spending" -}}
- name: envoy.filters.http.lua
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
    default_source_code:
      inline_string: |
        local unit_ms = {H = 3600000, M = 60000, S = 1000, m = 1, u = 0.001, n = 0.000001}
        function envoy_on_request(call)
          local noted = call:streamInfo():dynamicMetadata()
          local now = call:timestamp()
          local first = noted:get("lanemesh")
          if first == nil then
            noted:set("lanemesh", "began", now)
            return
          end
          local given, unit = string.match(call:headers():get("grpc-timeout") or "", "^(%d+)([HMSmun])$")
          if given then
            local left = tonumber(given) * unit_ms[unit] - (now - first["began"])
            call:headers():replace("grpc-timeout", string.format("%dm", math.min(math.max(math.floor(left), 1), 99999999)))
          end
        end
{{- end }}

{{- define "lanemesh.envoy.router" -}}
{name: envoy.filters.http.router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router, suppress_envoy_headers: true}}
{{- end }}

{{/* Readiness and figures of Envoy: all of its admin interface that can be reached from outside its socket. */}}
{{- define "lanemesh.envoy.metrics" -}}
{{- $metrics := .Values.envoy.metrics -}}
- name: metrics
  address: {socket_address: {address: {{ $metrics.address | quote }}, port_value: {{ $metrics.port }}}}
  ignore_global_conn_limit: true
  filter_chains:
    - filters:
        - name: envoy.filters.network.http_connection_manager
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
            stat_prefix: metrics
            http_filters:
              - {{ include "lanemesh.envoy.router" . }}
            route_config:
              name: metrics
              virtual_hosts:
                - name: metrics
                  domains: ["*"]
                  routes:
                    {{- range $path := list "/ready" "/stats/prometheus" }}
                    - match: {path: {{ $path }}, headers: [{name: ":method", string_match: {exact: GET}}]}
                      route: {cluster: admin, timeout: 5s}
                    {{- end }}
{{- end }}
