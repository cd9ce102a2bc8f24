{{/* Labels of an object of the component `name`. */}}
{{- define "lanemesh.labels" -}}
{{ include "lanemesh.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: lanemesh
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* Labels of a pod: nothing that a new version of the chart changes, or every upgrade would restart everything. */}}
{{- define "lanemesh.marks" -}}
{{ include "lanemesh.selector" . }}
app.kubernetes.io/part-of: lanemesh
{{- end }}

{{/* What selects the pods of a component; it never changes. */}}
{{- define "lanemesh.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "lanemesh.image" -}}
{{- $images := .root.Values.images -}}
{{- $name := printf "%slanemesh-%s" (ternary (printf "%s/" $images.registry) "" (ne $images.registry "")) .name -}}
{{- with get $images.digests .name -}}
{{- printf "%s@%s" $name . -}}
{{- else -}}
{{- printf "%s:%s" $name (default $.root.Chart.AppVersion $images.tag) -}}
{{- end -}}
{{- end }}

{{/* The Secret with the certificate of a process. */}}
{{- define "lanemesh.certificate" -}}
{{- .root.Values.tls.secrets | default (printf "%s-{name}-tls" .root.Release.Name) | replace "{name}" .name -}}
{{- end }}

{{/* The collector of spans. */}}
{{- define "lanemesh.collector" -}}
{{- if .Values.telemetry.otlp_endpoint -}}
{{- .Values.telemetry.otlp_endpoint -}}
{{- else if .Values.development.enabled -}}
http://{{ .Release.Name }}-jaeger:4317
{{- end -}}
{{- end }}

{{/* The lane table and every other figure that processes read: these sections of the values, as they stand. */}}
{{- define "lanemesh.table" -}}
{{ pick .Values "modes" "reserve_share" "load" "costs" "depths" "time_ranges" "limits" "routing" "fusion" "gateway" "protection" "lanes" | toYaml }}
{{- end }}

{{/* Whether objects of a kind that an operator brings are made. */}}
{{- define "lanemesh.wanted" -}}
{{- if or (eq .switch "always") (and (eq .switch "auto") (.root.Capabilities.APIVersions.Has .kind)) -}}yes{{- end -}}
{{- end }}
