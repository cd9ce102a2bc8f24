{{/* Envoy in the gateway's pod: a native sidecar, so that it is there before the gateway calls and after it has drained. */}}
{{- define "lanemesh.envoy.container" -}}
{{- $envoy := .Values.envoy -}}
- name: envoy
  image: {{ $envoy.image }}
  imagePullPolicy: {{ .Values.images.pull }}
  restartPolicy: Always
  command: [envoy, -c, {{ $envoy.config_folder }}/envoy.yaml, --concurrency, {{ $envoy.workers | quote }}, --disable-hot-restart,
            --drain-strategy, immediate, --drain-time-s, {{ .Values.deploy.drain.pre_stop_seconds | quote }}]
  ports:
    - {name: ingress, containerPort: {{ $envoy.ingress.port }}}
    - {name: envoy-metrics, containerPort: {{ $envoy.metrics.port }}}
  startupProbe:
    httpGet: {path: /ready, port: envoy-metrics}
    periodSeconds: 1
    failureThreshold: 60
  livenessProbe:
    httpGet: {path: /ready, port: envoy-metrics}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
  readinessProbe:
    httpGet: {path: /ready, port: envoy-metrics}
    periodSeconds: 5
    timeoutSeconds: 2
  securityContext:
    {{- include "lanemesh.confined" . | nindent 4 }}
  resources:
    {{- toYaml $envoy.resources | nindent 4 }}
  volumeMounts:
    - {name: envoy, mountPath: {{ $envoy.config_folder }}, readOnly: true}
    - {name: envoy-admin, mountPath: {{ dir $envoy.admin_socket }}}
    {{- if .Values.tls.enabled }}
    - {name: tls, mountPath: /etc/lanemesh/tls, readOnly: true}
    {{- end }}
{{- end }}

{{- define "lanemesh.envoy.volumes" -}}
- name: envoy
  configMap: {name: {{ .Release.Name }}-envoy}
- name: envoy-admin
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end }}
