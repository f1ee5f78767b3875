import FuzzEntries

/// libFuzzer's entry point. A broken promise stops the run like a crash does, and the input is kept.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    if let complaint = FuzzEntry.photoPage.check(input) {
        fatalError(complaint)
    }
    return 0
}
