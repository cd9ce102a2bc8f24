{{/*
The configuration of Envoy, the same in a cluster and on one machine: `lanemesh up --envoy` renders this very file with
the real helm. Files: this one puts it together, _envoy-ingress.tpl and _envoy-egress.tpl hold the listeners,
_envoy-parts.tpl what both use.
*/}}

{{/* What Envoy's folder holds: the entries of a ConfigMap. */}}
{{- define "lanemesh.envoy.files" -}}
envoy.yaml: |
  {{- include "lanemesh.envoy.config" . | nindent 2 }}
{{- if .Values.envoy.tls.enabled }}
certificate.yaml: |
  {{- include "lanemesh.envoy.certificate" . | nindent 2 }}
authority.yaml: |
  {{- include "lanemesh.envoy.authority" . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "lanemesh.envoy.config" -}}
{{- $envoy := .Values.envoy -}}
node: {id: lanemesh, cluster: lanemesh}
admin:
  address:
    pipe: {path: {{ $envoy.admin_socket | quote }}, mode: 384}
application_log_config:
  log_format:
    json_format: {time: "%Y-%m-%dT%T.%eZ", level: "%l", logger: "%n", message: "%j"}
overload_manager:
  resource_monitors:
    - name: envoy.resource_monitors.global_downstream_max_connections
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig
        max_active_downstream_connections: {{ $envoy.ingress.connections }}
static_resources:
  listeners:
    {{- include "lanemesh.envoy.ingress" . | nindent 4 }}
    {{- range (include "lanemesh.envoy.peers" . | fromYaml).peers }}
    {{- include "lanemesh.envoy.egress" (dict "root" $ "peer" .) | nindent 4 }}
    {{- end }}
    {{- include "lanemesh.envoy.metrics" . | nindent 4 }}
  clusters:
    {{- include "lanemesh.envoy.cluster" (dict "root" $ "name" "gateway" "endpoints" (include "lanemesh.envoy.gateway" .)) | nindent 4 }}
    {{- range (include "lanemesh.envoy.peers" . | fromYaml).peers }}
    {{- include "lanemesh.envoy.cluster" (dict "root" $ "name" .name "endpoints" .endpoints) | nindent 4 }}
    {{- end }}
    - name: admin
      type: STATIC
      load_assignment:
        cluster_name: admin
        endpoints:
          - lb_endpoints:
              - endpoint: {address: {pipe: {path: {{ $envoy.admin_socket | quote }}}}}
    # Without an address it has no endpoints: the tracer makes and passes on trace ids, and its spans go nowhere.
    - name: collector
      type: STRICT_DNS
      connect_timeout: 1s
      {{- include "lanemesh.envoy.http2" . | nindent 6 }}
      load_assignment:
        cluster_name: collector
        {{- with $envoy.tracing.collector | default (include "lanemesh.collector" . | trimPrefix "http://" | trimSuffix "/") }}
        endpoints:
          - lb_endpoints:
              - endpoint: {{ include "lanemesh.envoy.endpoint" . }}
        {{- end }}
{{- end }}

{{/* Lanes and fusion: name, listener port, endpoints joined by commas, and whether their calls cost money. */}}
{{- define "lanemesh.envoy.peers" -}}
{{- $root := . -}}
peers:
{{- range $name, $lane := .Values.lanes }}
{{- if $lane.enabled }}
  - {{ include "lanemesh.envoy.peer" (dict "root" $root "name" $name "row" $lane) }}
{{- end }}
{{- end }}
  - {{ include "lanemesh.envoy.peer" (dict "root" $root "name" "fusion" "row" .Values.fusion) }}
{{- end }}

{{- define "lanemesh.envoy.peer" -}}
{{- $envoy := .root.Values.envoy -}}
{{- $port := add $envoy.peers.port_base .row.port | toString -}}
{{- $address := $envoy.peers.address | replace "{release}" .root.Release.Name | replace "{name}" .name | replace "{port}" $port -}}
{{- $endpoints := get $envoy.endpoints .name | default (list $address) | join "," -}}
{name: {{ .name }}, port: {{ add $envoy.egress.port_base .row.port }}, paid: {{ .row.paid | default false }}, endpoints: {{ $endpoints | quote }}}
{{- end }}

{{- define "lanemesh.envoy.gateway" -}}
{{- get .Values.envoy.endpoints "gateway" | default (list .Values.envoy.peers.gateway) | join "," -}}
{{- end }}
