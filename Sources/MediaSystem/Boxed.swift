/// A value in a separate allocation, shared by copies until one is changed.
///
/// An asynchronous function reserves space for each copy of a value that it makes, and a batch runs dozens of such
/// functions: with large values, a task took 200 KB. Inlinable, so each module has specialized code for its own values.
@propertyWrapper package struct Boxed<Value: Sendable>: Sendable {
    @usableFromInline var box: Box<Value>

    @inlinable package init(wrappedValue: Value) { box = Box(wrappedValue) }

    // Always inlined: otherwise each change to a member looks up the metadata of the box at run time.
    @inlinable package var wrappedValue: Value {
        @inline(__always) _read { yield box.value }
        @inline(__always) _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}

/// Like `Boxed`, for a value that is usually nil, which then does not need an allocation.
@propertyWrapper package struct BoxedOptional<Value: Sendable>: Sendable {
    @usableFromInline var box: Box<Value>?

    @inlinable package init() {}

    @inlinable package init(wrappedValue: Value?) { box = wrappedValue.map { Box($0) } }

    @inlinable package var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map { Box($0) } }
    }
}

extension BoxedOptional: Equatable where Value: Equatable {
    package static func == (left: Self, right: Self) -> Bool { left.wrappedValue == right.wrappedValue }
}

/// Unchecked: `value` changes only in `Boxed`, whose `_modify` copies the box first unless it holds the only reference.
/// Therefore, no other thread or copy can read a value that is changing; accesses cannot overlap and are not checked
/// for exclusivity.
@usableFromInline final class Box<Value: Sendable>: @unchecked Sendable {
    @exclusivity(unchecked) @usableFromInline var value: Value

    @inlinable init(_ value: Value) { self.value = value }
}
