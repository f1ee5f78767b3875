import Foundation
import Testing

/// Memory of this process.
public enum ProcessMemory {
    /// A size from proc(5), in bytes: `VmHWM` is the peak memory, and `VmPeak` is the peak address space.
    public static func bytes(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
        return try #require(Int(line.filter(\.isNumber))) << 10
    }
}
