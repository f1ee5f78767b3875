public import Outcomes

// Inlinable: an upload calls these functions for each file.
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

    /// Like `stored`, for work that waits.
    @inlinable package static func storing<Value>(
        _ value: @autoclosure () async throws(StoreError) -> Value
    ) async throws(Self) -> Value {
        do throws(StoreError) { return try await value() } catch { throw Self(error) }
    }
}
