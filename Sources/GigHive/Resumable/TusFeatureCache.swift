internal import Tus

/// Remembers what a server's tus side offers, so that many uploads ask once. A question that failed is asked again.
actor TusFeatureCache {
    private typealias Answer = Result<TusFeatures?, GigHiveError>

    private var question: Task<Answer, Never>?

    /// The features; nil when there is no tus server.
    func features(of tus: TusClient, repeatsUnavailable: Bool = true) async throws(GigHiveError) -> TusFeatures? {
        let asked = question ?? Task { await Self.ask(tus, repeatsUnavailable) }
        question = asked
        let answer = await asked.value
        if case .failure = answer, question == asked {
            question = nil
        }
        return try answer.get()
    }

    private static func ask(_ tus: TusClient, _ repeatsUnavailable: Bool) async -> Answer {
        do {
            let features = try await tus.features(repeatsUnavailable: repeatsUnavailable)
            return .success(features.extensions.contains(.creation) ? features : nil)
        } catch {
            return error.kind == .unsupported ? .success(nil) : .failure(.tus(error))
        }
    }
}
