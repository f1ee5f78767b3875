import Foundation
import FuzzEntries

/// The parsers to run: the value of a ``FuzzEntry`` in `FUZZ_TARGET`.
private let entry: FuzzEntry = {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
    guard let entry = FuzzEntry(rawValue: name) else { fatalError("FUZZ_TARGET is not a target: \"\(name)\"") }
    return entry
}()

/// libFuzzer's entry point. A violated guarantee stops the run like a crash, and the input is kept.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    if let complaint = entry.check(input) {
        fatalError(complaint)
    }
    return 0
}
