extension LibraryStore {
    /// The record of a capture; nil when there is none.
    public func capture(_ id: String) throws(StoreError) -> CaptureRecord? { nil }

    /// The captures whose id begins with these characters, newest first.
    public func captures(idPrefix: String) throws(StoreError) -> [CaptureRecord] { [] }

    /// The captures of a digest (64 lower-case hexadecimal characters), newest first.
    public func captures(ofMedia hash: String) throws(StoreError) -> [CaptureRecord] { [] }

    /// All captures, newest first.
    public func captures() throws(StoreError) -> [CaptureRecord] { [] }

    /// Keeps a capture, in place of an earlier state of the same id.
    public func keep(_ capture: CaptureRecord) throws(StoreError) {}

    /// This machine at a server; nil when it is not registered there.
    public func captureDevice(for server: String) throws(StoreError) -> CaptureDeviceRecord? { nil }

    /// Keeps a registration, in place of an earlier one at the same server.
    public func keep(_ device: CaptureDeviceRecord) throws(StoreError) {}
}
