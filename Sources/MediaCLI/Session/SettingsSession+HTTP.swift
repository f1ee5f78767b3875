internal import MediaTransport

extension SettingsSession {
    /// A transfer loop as flags and settings describe it.
    ///
    /// - Throws: `TransportError`.
    func httpClient() throws(TransportError) -> HTTPClient {
        var configuration = HTTPClientConfiguration(
            trust: ServerTrust(
                caFile: settings.caFile?.value,
                pinnedKey: settings.pinnedKey?.value,
                insecure: settings.insecure.value
            ),
            http2: settings.http2.value,
            retry: retryPolicy,
            maximumSendRate: settings.limitRate.value,
            userAgent: "mediactl/\(MediactlCommand.version)"
        )
        if console.verbosity > 0 {
            configuration.observer = { [console] in Self.trace($0, on: console) }
        }
        return try HTTPClient(configuration: configuration)
    }

    /// One line for each exchange. The query is left out: it may hold what others should not see.
    private static func trace(_ exchange: ExchangeRecord, on console: Console) {
        let address = exchange.url.text.prefix { $0 != "?" }
        let outcome =
            switch exchange.outcome {
            case .success(let status): "\(status)"
            case .failure(let error): "no answer (\(ErrorCatalogue.clean(error.description)))"
            }
        console.trace(
            "\(exchange.method.rawValue) \(address): \(outcome), \(exchange.bodyBytesSent) bytes sent, "
                + "\(exchange.bytesReceived) received, \(Formats.milliseconds(exchange.duration)) ms"
        )
    }
}
