internal import Glibc
internal import Synchronization

/// Random bits from the system, drawn 256 bytes at a time, since a system call for each name would take longer than the
/// rest of the work.
///
/// For names and boundaries. Unused bits of a block stay in memory, so keys must not be generated from them.
package struct RandomBlock: RandomNumberGenerator, Sendable {
    private struct Words {
        var values = [UInt64](repeating: 0, count: 32)
        /// Number of unused words; these come first.
        var count = 0
    }

    private static let words = Mutex(Words())

    package init() {}

    package mutating func next() -> UInt64 {
        Self.words.withLock { words in
            if words.count == 0 {
                // At most 256 bytes per call (getentropy(3)).
                let code = words.values.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
                guard code == 0 else {
                    var system = SystemRandomNumberGenerator()
                    return system.next()
                }
                words.count = words.values.count
            }
            words.count -= 1
            return words.values[words.count]
        }
    }
}
