{{/* One process behind Envoy: its replicas, how they are watched and how many calls they get. */}}
{{- define "lanemesh.envoy.cluster" -}}
{{- $envoy := .root.Values.envoy -}}
- name: {{ .name }}
  cluster_type:
    name: envoy.clusters.dns
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster
      dns_lookup_family: ALL
      dns_refresh_rate: {{ include "lanemesh.envoy.seconds" $envoy.dns_refresh_ms }}
  connect_timeout: {{ include "lanemesh.envoy.seconds" $envoy.egress.connect_ms }}
  lb_policy: LEAST_REQUEST
  # While one replica is well none of the others is asked; when none is, all are. What is learnt counts at once.
  common_lb_config: {healthy_panic_threshold: {value: 1}, update_merge_window: 0s}
  # A replica that left its name is gone, even when it still answers.
  ignore_health_on_host_removal: true
  {{- include "lanemesh.envoy.http2" .root | nindent 2 }}
  circuit_breakers:
    thresholds:
      - max_connections: {{ $envoy.egress.requests }}
        max_pending_requests: {{ $envoy.egress.pending }}
        max_requests: {{ $envoy.egress.requests }}
        retry_budget:
          budget_percent: {value: {{ $envoy.retry.budget_percent }}}
          min_retry_concurrency: {{ $envoy.retry.least_concurrent }}
  health_checks:
    - timeout: {{ include "lanemesh.envoy.seconds" $envoy.health.time_out_ms }}
      interval: {{ include "lanemesh.envoy.seconds" $envoy.health.every_ms }}
      no_traffic_interval: {{ include "lanemesh.envoy.seconds" $envoy.health.every_ms }}
      unhealthy_threshold: {{ $envoy.health.unhealthy }}
      healthy_threshold: {{ $envoy.health.healthy }}
      grpc_health_check: {}
  outlier_detection:
    consecutive_5xx: {{ $envoy.outlier.failures }}
    enforcing_success_rate: 0
    # A replica that says it is well and fails all the same must not come back for saying so.
    successful_active_health_check_uneject_host: false
    interval: {{ include "lanemesh.envoy.seconds" $envoy.outlier.every_ms }}
    base_ejection_time: {{ include "lanemesh.envoy.seconds" $envoy.outlier.out_ms }}
    max_ejection_time: {{ include "lanemesh.envoy.seconds" $envoy.outlier.longest_out_ms }}
    max_ejection_percent: {{ $envoy.outlier.most_percent }}
  load_assignment:
    cluster_name: {{ .name }}
    endpoints:
      - lb_endpoints:
          {{- range splitList "," .endpoints }}
          - endpoint: {{ include "lanemesh.envoy.endpoint" . }}
          {{- end }}
  {{- /* The gateway listens on loopback in plain text: TLS ends here. */}}
  {{- if and $envoy.tls.enabled $envoy.tls.upstream (ne .name "gateway") }}
  {{- $name := $envoy.tls.upstream_name | replace "{name}" .name }}
  transport_socket:
    name: envoy.transport_sockets.tls
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
      sni: {{ $name | quote }}
      common_tls_context:
        {{- include "lanemesh.envoy.secrets" (dict "root" .root "name" $name) | nindent 8 }}
        alpn_protocols: [h2]
  {{- end }}
{{- end }}

{{- define "lanemesh.envoy.endpoint" -}}
{{- $host := regexReplaceAll ":[0-9]+$" . "" | trimPrefix "[" | trimSuffix "]" -}}
{address: {socket_address: {address: {{ $host | quote }}, port_value: {{ regexFind "[0-9]+$" . }}}}}
{{- end }}

{{- define "lanemesh.envoy.http2" -}}
typed_extension_protocol_options:
  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
    "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
    explicit_http_config:
      http2_protocol_options:
        connection_keepalive: {interval: 30s, timeout: 10s}
        initial_stream_window_size: 1048576
        initial_connection_window_size: 16777216
{{- end }}

{{/* Seconds, as Envoy writes a duration, of so many milliseconds. */}}
{{- define "lanemesh.envoy.seconds" -}}
{{ printf "%.3fs" (divf . 1000) }}
{{- end }}

{{/* The access log: `which` is all or failures. */}}
{{- define "lanemesh.envoy.log" -}}
{{- if ne .which "none" }}
access_log:
  - name: envoy.access_loggers.stdout
    {{- if eq .which "failures" }}
    filter:
      or_filter:
        filters:
          - status_code_filter:
              comparison: {op: GE, value: {default_value: 400, runtime_key: lanemesh.log.status}}
          - grpc_status_filter: {statuses: [OK], exclude: true}
          - header_filter: {header: {name: traceparent, string_match: {suffix: "-01"}}}
    {{- end }}
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog
      log_format:
        json_format:
          time: "%START_TIME%"
          log: access
          direction: {{ .direction }}
          trace_id: "%TRACE_ID%"
          traceparent: "%REQ(TRACEPARENT)%"
          method: "%REQ(:METHOD)%"
          path: "%REQ(:PATH)%"
          protocol: "%PROTOCOL%"
          status: "%RESPONSE_CODE%"
          grpc_status: "%GRPC_STATUS%"
          flags: "%RESPONSE_FLAGS%"
          details: "%RESPONSE_CODE_DETAILS%"
          grpc_timeout: "%REQ(GRPC-TIMEOUT)%"
          duration_ms: "%DURATION%"
          bytes_received: "%BYTES_RECEIVED%"
          bytes_sent: "%BYTES_SENT%"
          attempts: "%UPSTREAM_REQUEST_ATTEMPT_COUNT%"
          upstream: "%UPSTREAM_HOST%"
          caller: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"
{{- end }}
{{- end }}

{{/* Certificates by files that are watched; `name` is what the other side's must hold, when it matters. */}}
{{- define "lanemesh.envoy.secrets" -}}
tls_params: {tls_minimum_protocol_version: TLSv1_2}
tls_certificate_sds_secret_configs:
  - {{ include "lanemesh.envoy.secret" (dict "root" .root "name" "certificate") }}
{{- if .name }}
combined_validation_context:
  default_validation_context:
    match_typed_subject_alt_names:
      - {san_type: DNS, matcher: {exact: {{ .name | quote }}}}
  validation_context_sds_secret_config: {{ include "lanemesh.envoy.secret" (dict "root" .root "name" "authority") }}
{{- else }}
validation_context_sds_secret_config: {{ include "lanemesh.envoy.secret" (dict "root" .root "name" "authority") }}
{{- end }}
{{- end }}

{{- define "lanemesh.envoy.secret" -}}
{{- $path := printf "%s/%s.yaml" .root.Values.envoy.config_folder .name -}}
{name: {{ .name }}, sds_config: {path_config_source: {path: {{ $path | quote }}}, resource_api_version: V3}}
{{- end }}

{{- define "lanemesh.envoy.certificate" -}}
{{- $tls := .Values.envoy.tls -}}
resources:
  - "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret
    name: certificate
    tls_certificate:
      certificate_chain: {filename: {{ $tls.certificate | quote }}}
      private_key: {filename: {{ $tls.key | quote }}}
      watched_directory: {path: {{ dir $tls.certificate | quote }}}
{{- end }}

{{- define "lanemesh.envoy.authority" -}}
{{- $tls := .Values.envoy.tls -}}
resources:
  - "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret
    name: authority
    validation_context:
      trusted_ca: {filename: {{ $tls.authority | quote }}}
      watched_directory: {path: {{ dir $tls.authority | quote }}}
{{- end }}
