/// A value in a separate allocation, shared by copies until one is changed.
///
/// An asynchronous function has room for each copy of a value that it makes, and a batch runs dozens of them: with
/// large values, a task took 200 KB.
@propertyWrapper package struct Boxed<Value: Sendable>: Sendable {
    private var box: Box<Value>

    package init(wrappedValue: Value) { box = Box(wrappedValue) }

    package var wrappedValue: Value {
        get { box.value }
        set { box = Box(newValue) }
    }
}

/// The same for a value that is usually nil, which then needs no allocation.
@propertyWrapper public struct BoxedOptional<Value: Sendable>: Sendable {
    private var box: Box<Value>?

    public init() {}

    public init(wrappedValue: Value?) { box = wrappedValue.map { Box($0) } }

    public var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map { Box($0) } }
    }
}

private final class Box<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
