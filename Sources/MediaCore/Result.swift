extension Result where Success: Sendable {
    /// Captures the value or error of `work`, where `try` would lose the error's type or skip the steps after it.
    package init(awaiting work: () async throws(Failure) -> Success) async {
        do throws(Failure) {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
