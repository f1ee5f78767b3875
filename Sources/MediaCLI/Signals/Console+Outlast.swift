internal import Dispatch

extension Console {
    /// What a signal does to a request that must not be torn: the first Ctrl-C waits for its answer, other signals wait for
    /// a limited time, and a repeated signal gives up.
    ///
    /// - Parameters:
    ///   - request: The signal.
    ///   - what: What is waited for, for the user.
    ///   - finishTimeout: How long the others wait.
    func outlast(_ request: Interruption.Request, for what: String, finishTimeout: Duration) {
        guard !request.isFinal else { return }
        let limit = request.signal == .interrupt ? nil : finishTimeout
        announce([WaitingMessage.text(for: what, limit: limit)])
        guard let limit else { return }
        let interruption = context.interruption
        DispatchQueue.global().asyncAfter(deadline: .now() + (limit / .seconds(1))) {
            interruption.giveUp(after: request.signal)
        }
    }
}
