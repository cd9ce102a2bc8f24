{{/* The pod of one process: `root`, `process`, `deploy`. */}}
{{- define "lanemesh.pod" -}}
{{- $root := .root -}}
{{- $process := .process -}}
{{- $deploy := .deploy -}}
{{- $values := $root.Values -}}
{{- $drain := $values.deploy.drain -}}
{{- $own := dict "root" $root "name" $process.name -}}
{{- $fronted := and (eq $process.name "gateway") $values.envoy.enabled -}}
metadata:
  labels:
    {{- include "lanemesh.marks" $own | nindent 4 }}
  annotations:
    # A changed table or Envoy configuration rolls the pods that read it.
    checksum/table: {{ include "lanemesh.table" $root | sha256sum }}
    {{- if $fronted }}
    checksum/envoy: {{ include "lanemesh.envoy.files" $root | sha256sum }}
    {{- end }}
    {{- with $deploy.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ $root.Release.Name }}-{{ $process.name }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add $drain.pre_stop_seconds (ceil $drain.lame_duck_seconds) (ceil $drain.grace_seconds) $drain.margin_seconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with $values.images.pull_secrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with $deploy.priority_class }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $deploy.node_selector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $deploy.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $deploy.several }}
  topologySpreadConstraints:
    {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "lanemesh.selector" $own | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- if $fronted }}
  initContainers:
    {{- include "lanemesh.envoy.container" $root | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ $process.name }}
      image: {{ include "lanemesh.image" $own }}
      imagePullPolicy: {{ $values.images.pull }}
      command: [python, -m{{ range $process.module }}, {{ . }}{{ end }}]
      env:
        {{- include "lanemesh.environment" (merge (dict "fronted" $fronted) .) | nindent 8 }}
      ports:
        {{- if not $fronted }}
        - {name: grpc, containerPort: {{ $process.port }}}
        {{- end }}
        - {name: health, containerPort: {{ $values.deploy.health_port }}}
        - {name: metrics, containerPort: {{ $values.deploy.metrics_port }}}
      # Liveness asks only whether the process still turns, never its engine: a lost engine must not restart the lane.
      startupProbe:
        grpc: {port: {{ $values.deploy.health_port }}, service: liveness}
        periodSeconds: 1
        timeoutSeconds: 2
        failureThreshold: 90
      livenessProbe:
        grpc: {port: {{ $values.deploy.health_port }}, service: liveness}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        grpc: {port: {{ $values.deploy.health_port }}}
        periodSeconds: 5
        timeoutSeconds: 2
        failureThreshold: 2
      # Serves on, ready, until no Service and no cached name leads here any more; then SIGTERM begins the drain.
      lifecycle:
        preStop:
          {{- if $fronted }}
          exec: {command: [python, -m, gateway.drain, {{ $values.envoy.admin_socket }}, {{ $drain.pre_stop_seconds | quote }}]}
          {{- else }}
          sleep: {seconds: {{ $drain.pre_stop_seconds }}}
          {{- end }}
      securityContext:
        {{- include "lanemesh.confined" $root | nindent 8 }}
      resources:
        {{- toYaml $deploy.resources | nindent 8 }}
      volumeMounts:
        - {name: table, mountPath: /etc/lanemesh/table, readOnly: true}
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        {{- if $fronted }}
        - {name: envoy-admin, mountPath: {{ dir $values.envoy.admin_socket }}}
        {{- else if $values.tls.enabled }}
        - {name: tls, mountPath: /etc/lanemesh/tls, readOnly: true}
        {{- end }}
        {{- if and (eq $process.name "gateway") $values.callers.secret }}
        - {name: callers, mountPath: /etc/lanemesh/callers, readOnly: true}
        {{- end }}
        {{- with $deploy.mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: table
      configMap: {name: {{ $root.Release.Name }}-table}
    {{- if not $process.stateful }}
    - name: data
      emptyDir: {sizeLimit: 512Mi}
    {{- end }}
    - name: tmp
      emptyDir: {sizeLimit: 64Mi}
    {{- if $values.tls.enabled }}
    - name: tls
      secret: {secretName: {{ include "lanemesh.certificate" $own }}, defaultMode: 288}
    {{- end }}
    {{- if and (eq $process.name "gateway") $values.callers.secret }}
    - name: callers
      secret: {secretName: {{ $values.callers.secret }}, defaultMode: 288}
    {{- end }}
    {{- if $fronted }}
    {{- include "lanemesh.envoy.volumes" $root | nindent 4 }}
    {{- end }}
    {{- with $deploy.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "lanemesh.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
