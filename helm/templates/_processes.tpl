{{/* The processes of the mesh, from the lane table: name, module to run, port, and whether it keeps an index of its own. */}}
{{- define "lanemesh.processes" -}}
{{- $root := . -}}
processes:
  - {name: gateway, module: [gateway], port: {{ include "lanemesh.port" (dict "root" . "row" .Values.gateway) }}, stateful: false}
  - {name: fusion, module: [fusion_service], port: {{ include "lanemesh.port" (dict "root" . "row" .Values.fusion) }}, stateful: false}
  {{- range $name, $row := .Values.lanes }}
  {{- if $row.enabled }}
  {{- $server := include "lanemesh.server" (dict "root" $root "name" $name) }}
  - {name: {{ $name }}, module: [services.runtime, {{ $name }}], port: {{ include "lanemesh.port" (dict "root" $root "row" $row) }}, stateful: {{ and (not (empty $row.keeps)) (not $server) }}}
  {{- end }}
  {{- end }}
{{- end }}

{{- define "lanemesh.port" -}}
{{- add .root.Values.deploy.port_base .row.port -}}
{{- end }}

{{/* The server of an index lane: its URL, or nothing where the engine is embedded. */}}
{{- define "lanemesh.server" -}}
{{- with get .root.Values.backends .name -}}
{{- if .url -}}
{{- .url -}}
{{- else if and $.root.Values.development.enabled .bundled -}}
http://{{ $.root.Release.Name }}-{{ .bundled }}:{{ (get $.root.Values.development.servers .bundled).port }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* How one process is deployed: the defaults with what is said of it alone. */}}
{{- define "lanemesh.deploy" -}}
{{- $deploy := mergeOverwrite (deepCopy .root.Values.deploy.defaults) (deepCopy (get .root.Values.deploy.processes .process.name | default dict)) -}}
{{- $automatic := $deploy.autoscaling.enabled -}}
{{- $several := or $automatic (gt (int (default 2 $deploy.replicas)) 1) -}}
{{- if .process.stateful -}}
{{- if and (hasKey $deploy "replicas") $several -}}
{{- fail (printf "deploy.processes.%s.replicas: %s keeps its index in a volume of its own and cannot have more than one replica; give it a server (backends.%s.url) or leave replicas out" .process.name .process.name .process.name) -}}
{{- else if $automatic -}}
{{- fail (printf "deploy.processes.%s.autoscaling: %s keeps its index in a volume of its own and cannot have more than one replica; give it a server (backends.%s.url) or leave autoscaling off" .process.name .process.name .process.name) -}}
{{- end -}}
{{- $several = false -}}
{{- end -}}
{{- $least := ternary $deploy.autoscaling.minimum (default 2 $deploy.replicas) $automatic -}}
{{- toYaml (mergeOverwrite $deploy (dict "several" $several "count" (ternary (int $least) 1 $several))) -}}
{{- end }}

{{/* What contradicts itself is refused before anything is rendered. */}}
{{- define "lanemesh.check" -}}
{{- $names := list "gateway" "fusion" -}}
{{- range $name, $row := .Values.lanes }}{{ $names = append $names $name }}{{ end -}}
{{- range $entry := list "deploy.processes" "images.digests" -}}
{{- $section := index $.Values (index (splitList "." $entry) 0) -}}
{{- range $name := keys (get $section (index (splitList "." $entry) 1)) -}}
{{- if not (has $name $names) -}}
{{- fail (printf "%s.%s: no process of that name; there are %s" $entry $name (join ", " $names)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $section := list "backends" "providers.keys" -}}
{{- $rows := eq $section "backends" | ternary $.Values.backends $.Values.providers.keys -}}
{{- range $name := keys $rows -}}
{{- if not (hasKey $.Values.lanes $name) -}}
{{- fail (printf "%s.%s: no lane of that name in the lane table" $section $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $row := .Values.backends -}}
{{- if and $row.bundled (not (hasKey $.Values.development.servers $row.bundled)) -}}
{{- fail (printf "backends.%s.bundled: development.servers has no %s" $name $row.bundled) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.tls.enabled (not .Values.tls.issuer.name) (not .Values.tls.secrets) -}}
{{- fail "tls.enabled: needs tls.issuer.name, an issuer of cert-manager, or tls.secrets, the name of Secrets with {name} in it" -}}
{{- end -}}
{{- if and .Values.envoy.enabled .Values.tls.enabled (not .Values.envoy.tls.enabled) -}}
{{- fail "envoy.tls.enabled: must be true where tls.enabled is: Envoy is the gateway's side of every connection" -}}
{{- end -}}
{{- if and .Values.tls.secrets (not (contains "{name}" .Values.tls.secrets)) -}}
{{- fail "tls.secrets: must hold {name}, which stands for the process: each has a certificate of its own" -}}
{{- end -}}
{{- end }}
