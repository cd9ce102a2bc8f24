{{/* The settings of one process: `root`, `process`, `deploy`, and whether Envoy stands before it. */}}
{{- define "lanemesh.environment" -}}
{{- $root := .root -}}
{{- $name := .process.name -}}
{{- $values := $root.Values -}}
{{- $gateway := eq $name "gateway" -}}
{{- $base := $values.deploy.port_base -}}
{{- $set := dict
  "LANEMESH_CONFIG" "/etc/lanemesh/table/values.yaml"
  "LANEMESH_HOME" "/data"
  "HOME" "/tmp"
  "LANEMESH_LISTEN" (printf "%s:%v" (ternary "127.0.0.1" "0.0.0.0" .fronted) (int .process.port))
  "LANEMESH_HEALTH_LISTEN" (printf "0.0.0.0:%v" (int $values.deploy.health_port))
  "LANEMESH_METRICS_LISTEN" (printf "0.0.0.0:%v" (int $values.deploy.metrics_port))
  "LANEMESH_GRACE_SECONDS" (toString $values.deploy.drain.grace_seconds)
  "LANEMESH_LAME_DUCK_SECONDS" (toString $values.deploy.drain.lame_duck_seconds)
  "OPENBLAS_NUM_THREADS" "1"
-}}
{{- if and $values.tls.enabled (not .fronted) -}}
{{- range $variable, $file := dict "LANEMESH_TLS_CERT" "tls.crt" "LANEMESH_TLS_KEY" "tls.key" "LANEMESH_TLS_CA" "ca.crt" -}}
{{- $_ := set $set $variable (printf "/etc/lanemesh/tls/%s" $file) -}}
{{- end -}}
{{- else if not .fronted -}}
{{- $_ := set $set "LANEMESH_ALLOW_PLAINTEXT" "true" -}}
{{- end -}}
{{- if $gateway -}}
{{- if .fronted -}}
{{- $_ := set $set "LANEMESH_PORT_BASE" (toString (int $values.envoy.egress.port_base)) -}}
{{- if $values.tls.enabled -}}{{- $_ := set $set "LANEMESH_FORWARDED_IDENTITY" "true" -}}{{- end -}}
{{- else -}}
{{- $_ := set $set "LANEMESH_PORT_BASE" (toString (int $base)) -}}
{{- $_ := set $set "LANEMESH_PEER_ADDRESS" (printf "dns:///%s-{name}:{port}" $root.Release.Name) -}}
{{- end -}}
{{- if $values.callers.secret -}}
{{- $_ := set $set "LANEMESH_CALLERS" (printf "/etc/lanemesh/callers/%s" $values.callers.entry) -}}
{{- else if not .fronted -}}
{{- $_ := set $set "LANEMESH_ALLOW_ANYBODY" "true" -}}
{{- end -}}
{{- end -}}
{{- with include "lanemesh.server" (dict "root" $root "name" $name) -}}
{{- $_ := set $set (get $values.backends $name).variable . -}}
{{- end -}}
{{- with include "lanemesh.collector" $root -}}
{{- $_ := set $set "OTEL_EXPORTER_OTLP_ENDPOINT" . -}}
{{- $_ := set $set "LANEMESH_TRACE_SAMPLE_RATE" (toString $values.telemetry.sample_rate) -}}
{{- end -}}
{{- $keys := get $values.providers.keys $name | default list -}}
{{- if $keys -}}
{{- $_ := set $set "KEYLESS_FALLBACKS_ENABLED" (toString $values.providers.keyless) -}}
{{- with $values.providers.contact }}{{- $_ := set $set "LANEMESH_CONTACT" . -}}{{- end -}}
{{- end -}}
{{- range $variable, $value := .deploy.env }}{{- $_ := set $set $variable (toString $value) -}}{{- end -}}
{{- range $variable, $value := $set }}
- {name: {{ $variable }}, value: {{ $value | quote }}}
{{- end }}
{{- with $values.providers.secret }}
{{- range $key := $keys }}
- {name: {{ $key }}, valueFrom: {secretKeyRef: {name: {{ $values.providers.secret }}, key: {{ $key }}, optional: true}}}
{{- end }}
{{- end }}
{{- with dig $name "credential" dict $values.backends }}
{{- if .secret }}
- {name: {{ .variable }}, valueFrom: {secretKeyRef: {name: {{ .secret }}, key: {{ .entry }}}}}
{{- end }}
{{- end }}
{{- range $variable, $from := .deploy.secret_env }}
- {name: {{ $variable }}, valueFrom: {secretKeyRef: {name: {{ $from.secret }}, key: {{ $from.entry }}}}}
{{- end }}
{{- end }}
