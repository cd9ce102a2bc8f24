{{/* From callers to the gateway: gRPC, gRPC-Web and JSON on one port. */}}
{{- define "lanemesh.envoy.ingress" -}}
{{- $envoy := .Values.envoy -}}
{{- $ingress := $envoy.ingress -}}
- name: ingress
  address: {socket_address: {address: {{ $ingress.address | quote }}, port_value: {{ $ingress.port }}}}
  # What the buffer below may hold is never less than this.
  per_connection_buffer_limit_bytes: {{ $ingress.body }}
  filter_chains:
    - filters:
        - name: envoy.filters.network.http_connection_manager
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
            stat_prefix: ingress
            use_remote_address: true
            xff_num_trusted_hops: {{ $ingress.trusted_hops }}
            skip_xff_append: false
            forward_client_cert_details: SANITIZE{{ if $envoy.tls.enabled }}_SET
            set_current_client_cert_details: {dns: true, uri: true}{{ end }}
            server_name: lanemesh
            normalize_path: true
            merge_slashes: true
            path_with_escaped_slashes_action: REJECT_REQUEST
            common_http_protocol_options:
              headers_with_underscores_action: DROP_HEADER
              max_headers_count: {{ $ingress.headers }}
            max_request_headers_kb: {{ $ingress.header_kib }}
            request_headers_timeout: {{ include "lanemesh.envoy.seconds" $ingress.headers_ms }}
            stream_idle_timeout: {{ include "lanemesh.envoy.seconds" $ingress.idle_ms }}
            http2_protocol_options:
              max_concurrent_streams: {{ $ingress.streams_per_connection }}
              initial_stream_window_size: 262144
              initial_connection_window_size: 1048576
            {{- include "lanemesh.envoy.log" (dict "which" $envoy.access_log.ingress "direction" "ingress") | nindent 12 }}
            tracing:
              random_sampling: {value: {{ $envoy.tracing.sample_percent }}}
              provider:
                name: envoy.tracers.opentelemetry
                typed_config:
                  "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
                  service_name: envoy
                  grpc_service: {envoy_grpc: {cluster_name: collector}, timeout: 1s}
            http_filters:
              {{- include "lanemesh.envoy.filters" . | nindent 14 }}
            route_config:
              name: ingress
              virtual_hosts:
                - name: ingress
                  domains: ["*"]
                  {{- with $ingress.origins }}
                  typed_per_filter_config:
                    envoy.filters.http.cors:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy
                      allow_origin_string_match:
                        {{- range . }}
                        - exact: {{ . | quote }}
                        {{- end }}
                      allow_methods: POST
                      allow_headers: authorization,content-type,grpc-timeout,traceparent,x-grpc-web,x-user-agent
                      expose_headers: grpc-status,grpc-message,grpc-status-details-bin
                      max_age: "600"
                  {{- end }}
                  routes:
                    {{- include "lanemesh.envoy.routes" . | nindent 20 }}
      {{- if $envoy.tls.enabled }}
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          require_client_certificate: {{ $envoy.tls.client_certificate }}
          common_tls_context:
            {{- include "lanemesh.envoy.secrets" (dict "root" .) | nindent 12 }}
            alpn_protocols: [h2, http/1.1]
      {{- end }}
{{- end }}

{{/* What happens to a call, in this order. */}}
{{- define "lanemesh.envoy.filters" -}}
{{- $ingress := .Values.envoy.ingress -}}
- name: envoy.filters.http.health_check
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.health_check.v3.HealthCheck
    pass_through_mode: false
    cluster_min_healthy_percentages: {gateway: {value: 1}}
    headers: [{name: ":path", string_match: {exact: /healthz}}]
{{- if $ingress.origins }}
- name: envoy.filters.http.cors
  typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}
{{- end }}
- name: envoy.filters.http.local_ratelimit
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
    stat_prefix: callers
    filter_enabled: {default_value: {numerator: 100}}
    filter_enforced: {default_value: {numerator: 100}}
    # The bucket of whoever has none of its own, which is nobody: every caller has an address.
    token_bucket: {max_tokens: 4294967295, tokens_per_fill: 4294967295, fill_interval: 1s}
    always_consume_default_token_bucket: false
    rate_limited_as_resource_exhausted: true
    rate_limits: [{actions: [{remote_address: {}}]}]
    max_dynamic_descriptors: {{ $ingress.rate.callers }}
    descriptors:
      - entries: [{key: remote_address}]
        token_bucket:
          max_tokens: {{ $ingress.rate.burst }}
          tokens_per_fill: {{ max 1 (div $ingress.rate.per_second 10) }}
          fill_interval: 0.1s
{{- /* What processes say to each other, and Envoy to them, no caller may say. */}}
- name: envoy.filters.http.header_mutation
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation
    mutations:
      request_mutations:
        - remove_on_match: {key_matcher: {prefix: lanemesh-}}
        - remove_on_match: {key_matcher: {prefix: x-envoy-}}
- name: envoy.filters.http.grpc_web
  typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.grpc_web.v3.GrpcWeb}
- name: envoy.filters.http.buffer
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer
    max_request_bytes: {{ $ingress.body }}
# Works for the one route that brings a script: a header mutation may not touch the path.
- name: envoy.filters.http.lua
  disabled: true
  typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua}
- name: envoy.filters.http.grpc_json_transcoder
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.grpc_json_transcoder.v3.GrpcJsonTranscoder
    proto_descriptor_bin: {{ .Files.Get "files/lanemesh.binpb" | b64enc }}
    services: [lanemesh.v1.SearchService]
    print_options:
      preserve_proto_field_names: true
      always_print_primitive_fields: true
      stream_sse_style_delimited: true
    request_validation_options: {reject_unknown_query_parameters: true}
    case_insensitive_enum_parsing: true
    convert_grpc_status: true
    max_request_body_size: {{ $ingress.body }}
    max_response_body_size: {{ $ingress.reply }}
- {{ include "lanemesh.envoy.router" . }}
{{- end }}

{{/*
Routes. JSON calls are matched twice: by their path here, where the deadline of X-Deadline-Ms becomes the one of gRPC, and
after they were transcoded as the gRPC calls they have become.
*/}}
{{- define "lanemesh.envoy.routes" -}}
{{- $retry := "connect-failure,refused-stream,unavailable,reset" -}}
{{- $stream := dict "header" "accept" "regex" ".*text/event-stream.*" -}}
{{- $timed := dict "header" "x-deadline-ms" "regex" "[1-9][0-9]{0,4}|[1-5][0-9]{5}|600000" -}}
{{- range $case := list (list $stream $timed) (list $stream) (list $timed) (list) }}
{{- $streamed := has $stream $case -}}
{{- $deadline := has $timed $case }}
- match:
    {{ ternary "path: /v1/search" "prefix: /v1/" $streamed }}
    headers:
      {{- range $case }}
      - {name: {{ .header }}, string_match: {safe_regex: {regex: {{ .regex | quote }}}}}
      {{- end }}
      {{- if not $deadline }}
      - {name: x-deadline-ms, present_match: false}
      {{- end }}
  {{- if $case }}
  typed_per_filter_config:
    {{- if $streamed }}
    envoy.filters.http.lua:
      "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.LuaPerRoute
      source_code: {inline_string: 'function envoy_on_request(call) call:headers():replace(":path", "/v1/search:stream") end'}
    {{- end }}
    {{- if $deadline }}
    envoy.filters.http.header_mutation:
      "@type": type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutationPerRoute
      mutations:
        request_mutations:
          - append: {header: {key: grpc-timeout, value: "%REQ(X-DEADLINE-MS)%m"}, append_action: OVERWRITE_IF_EXISTS_OR_ADD}
          - remove: x-deadline-ms
    {{- end }}
  {{- end }}
  {{- include "lanemesh.envoy.route" (dict "root" $ "cluster" "gateway" "retry" $retry) | nindent 2 }}
{{- end }}
- match: {prefix: /v1/}
  typed_per_filter_config:
    envoy.filters.http.grpc_json_transcoder: {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true}
  response_headers_to_add:
    - {append_action: OVERWRITE_IF_EXISTS_OR_ADD, header: {key: content-type, value: application/json}}
  direct_response:
    status: 400
    body: {inline_string: '{"code":3,"message":"X-Deadline-Ms: must be a whole number of milliseconds, 1 to 600000","details":[]}'}
- match: {path: /lanemesh.v1.SearchService/Ingest}
  typed_per_filter_config:
    envoy.filters.http.buffer: {"@type": type.googleapis.com/envoy.extensions.filters.http.buffer.v3.BufferPerRoute, disabled: true}
  {{- include "lanemesh.envoy.route" (dict "root" $ "cluster" "gateway" "retry" "connect-failure,refused-stream") | nindent 2 }}
- match: {prefix: /lanemesh.v1.SearchService/}
  {{- include "lanemesh.envoy.route" (dict "root" $ "cluster" "gateway" "retry" $retry) | nindent 2 }}
{{- range $prefix := list "/grpc.health.v1.Health/" "/grpc.reflection." }}
- match: {prefix: {{ $prefix }}}
  typed_per_filter_config:
    envoy.filters.http.buffer: {"@type": type.googleapis.com/envoy.extensions.filters.http.buffer.v3.BufferPerRoute, disabled: true}
  {{- include "lanemesh.envoy.route" (dict "root" $ "cluster" "gateway" "retry" "connect-failure,refused-stream") | nindent 2 }}
{{- end }}
- match: {prefix: /}
  direct_response: {status: 404}
{{- end }}
