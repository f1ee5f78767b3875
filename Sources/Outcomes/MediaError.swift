internal import MediaSystem

/// The facts that only the errors of one system have.
public protocol ErrorFacts: Sendable {
    init()
}

/// Why an operation failed: the facts from which the caller classifies the failure and composes a message. The facts of
/// `System` are members as well.
@dynamicMemberLookup public struct MediaError<System: ErrorFacts>: Error {
    /// The facts of an error.
    public struct Facts: Sendable {
        public var code: OutcomeCode
        /// The message from the server or the system, or the violated rule. May contain control characters; escape
        /// before printing.
        public var detail: String
        /// Status of the response, if any.
        public var httpStatus: Int?
        /// Whether the same call may succeed later.
        public var isRetryable: Bool
        /// The local path concerned, as bytes.
        public var path: [UInt8]?
        /// The invalid value as given, or the ID concerned.
        public var value: String?
        /// The limit that was exceeded, in the value's unit (bytes, scalars).
        public var limit: Int64?
        /// The error from a lower layer, such as `StoreError` or `TransportError`.
        public var underlying: (any Error)?
        /// The facts that other systems do not have.
        public var own = System()
    }

    // In one allocation: an asynchronous function reserves space for each error it may throw.
    @Boxed private var facts: Facts

    package init(
        _ code: OutcomeCode,
        detail: String = "",
        httpStatus: Int? = nil,
        isRetryable: Bool = false,
        path: [UInt8]? = nil,
        value: String? = nil,
        limit: Int64? = nil,
        underlying: (any Error)? = nil
    ) {
        facts = Facts(
            code: code,
            detail: detail,
            httpStatus: httpStatus,
            isRetryable: isRetryable,
            path: path,
            value: value,
            limit: limit,
            underlying: underlying
        )
    }

    /// A member of `Facts`; changing it copies the facts if another error shares them.
    public subscript<Member>(dynamicMember path: WritableKeyPath<Facts, Member>) -> Member {
        get { facts[keyPath: path] }
        set { facts[keyPath: path] = newValue }
    }

    /// A member of the system's own facts.
    public subscript<Member>(dynamicMember path: WritableKeyPath<System, Member>) -> Member {
        get { facts.own[keyPath: path] }
        set { facts.own[keyPath: path] = newValue }
    }

    /// The error with one of the system's own facts changed.
    package func with<Member>(_ path: WritableKeyPath<System, Member>, _ value: Member) -> Self {
        var error = self
        error.facts.own[keyPath: path] = value
        return error
    }
}
