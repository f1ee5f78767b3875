import Foundation
import Testing

/// Memory of this process.
public enum ProcessMemory {
    /// A size of proc(5), in bytes: `VmHWM` is the most memory so far, `VmPeak` the most address space.
    public static func bytes(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
        return try #require(Int(line.filter(\.isNumber))) << 10
    }
}
