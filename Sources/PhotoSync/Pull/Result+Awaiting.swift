extension Result where Failure == PhotoSyncError, Success: Sendable {
    /// What `body` returns or throws, where a plain `try` would lose the error's type or begin the next thing too early.
    static func awaiting(_ body: () async throws(PhotoSyncError) -> Success) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
