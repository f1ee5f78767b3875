internal import Synchronization

/// The origins that require a login instead of a user name and password: Basic is never sent to them again.
///
/// An origin is added as soon as a response shows it, before any other request to it starts. Clients may share one object.
public final class LoginRequirements: Sendable {
    private let origins: Mutex<Set<Origin>>
    private let onNew: (@Sendable (Origin) -> Void)?

    /// Makes a set of origins.
    ///
    /// - Parameters:
    ///   - known: The origins that are known to require a login.
    ///   - onNew: Called once for each origin that a response adds. Must return quickly.
    public init(_ known: Set<Origin> = [], onNew: (@Sendable (Origin) -> Void)? = nil) {
        origins = Mutex(known)
        self.onNew = onNew
    }

    /// Whether an origin requires a login.
    public func contains(_ origin: Origin) -> Bool { origins.withLock { $0.contains(origin) } }

    /// Adds an origin.
    public func insert(_ origin: Origin) {
        guard origins.withLock({ $0.insert(origin).inserted }) else { return }
        onNew?(origin)
    }

    /// Removes an origin that turned out to have no login.
    public func remove(_ origin: Origin) { origins.withLock { _ = $0.remove(origin) } }
}
