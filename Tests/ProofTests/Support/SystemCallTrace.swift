import Foundation
import Testing

/// The output of `strace -f -y`: the calls of all threads, each with the positions of its start and its end.
struct SystemCallTrace {
    /// One call. A call whose `end` is less than another's `begin` was finished before the other started.
    struct Call {
        let name: String
        /// Arguments and result as printed by strace.
        var text: String
        let begin: Int
        var end: Int
    }

    /// In the order of their starts.
    private(set) var calls: [Call] = []

    /// Arguments for `BinaryRunner`'s wrapper.
    static func wrapper(
        writing path: String,
        calls: String = "write,pwrite64,fsync,fdatasync,recvfrom,sendto"
    ) -> [String] {
        ["/usr/bin/strace", "-f", "-y", "-s", "65536", "-e", "trace=\(calls)", "-o", path]
    }

    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")
    static let requirement: Comment = "requires strace: scripts/setup.sh test"

    init(contentsOf path: String) throws {
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        var open: [Substring: Int] = [:]
        for (number, line) in text.split(separator: "\n").enumerated() {
            let words = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
            guard words.count == 2 else { continue }
            let (thread, rest) = (words[0], words[1].drop { $0 == " " })
            if rest.hasPrefix("<... ") {
                guard let index = open.removeValue(forKey: thread) else { continue }
                calls[index].text += rest
                calls[index].end = number
            } else if let parenthesis = rest.firstIndex(of: "(") {
                let isUnfinished = rest.hasSuffix("<unfinished ...>")
                let call = Call(name: String(rest[..<parenthesis]), text: String(rest), begin: number, end: number)
                calls.append(call)
                if isUnfinished {
                    open[thread] = calls.count - 1
                }
            }
        }
    }

    /// The first call with one of these names, on a descriptor whose strace name contains `place`, and with data that
    /// contains `data`.
    func first(_ names: Set<String>, on place: String, holding data: String? = nil, after: Call? = nil) -> Call? {
        calls.first { call in
            let descriptor = call.text.drop { $0 != "(" }.prefix { $0 != "," && $0 != ")" }
            return names.contains(call.name) && descriptor.contains(place)
                && data.map { call.text.contains($0) } != false
                && call.begin > after?.end ?? -1
        }
    }
}
