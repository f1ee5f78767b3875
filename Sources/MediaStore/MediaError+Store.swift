public import Outcomes

// Inlinable: an upload calls `stored` for each file. The asynchronous form, `storing`, is declared for each system:
// without optimization, Swift 6.3 miscompiles an async function whose result and error type are both generic.
extension MediaError {
    /// The underlying error, if it is from the store.
    public var store: StoreError? { self.underlying as? StoreError }

    @usableFromInline package init(_ error: StoreError) {
        self.init(.storeUnusable, detail: error.detail, underlying: error)
    }

    /// Changes or reads a store, and converts its error.
    @inlinable @discardableResult
    package static func stored<Value>(_ value: @autoclosure () throws(StoreError) -> Value) throws(Self) -> Value {
        do throws(StoreError) { return try value() } catch { throw Self(error) }
    }
}
