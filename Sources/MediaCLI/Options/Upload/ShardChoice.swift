internal import MediaFiles

/// The part of the inputs that one of several machines takes, and who said so.
struct ShardChoice: Sendable, Equatable {
    var shard: Shard
    /// The variable that told it; nil for the command line.
    var variable: String?

    /// Reads `I/N`, `auto` or `auto/N`. A scheduler is asked only then: its variables may be set for other reasons.
    ///
    /// - Throws: `Diagnosis`.
    init(_ text: String, environment: [String: String]) throws(Diagnosis) {
        let words = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard words[0] == "auto" else {
            guard let shard = Shard(text) else {
                throw .usage(
                    "--shard: \(ErrorCatalogue.quoted(text)) is not a valid shard",
                    hint: "use I/N, I from 0 to N-1, for example --shard 0/4, or auto"
                )
            }
            self.shard = shard
            variable = nil
            return
        }
        let count = words.count == 2 ? Int(words[1]) : nil
        guard words.count == 1 || (count ?? 0) > 0 else {
            throw .usage(
                "--shard: \(ErrorCatalogue.quoted(text)) is not a valid shard",
                hint: "use auto/N, where N is the number of shards"
            )
        }
        guard let shard = Shard(environment: environment, count: count) else {
            throw .usage(
                "--shard \(text): no scheduler variable found",
                hint: count == nil
                    ? "set JOB_COMPLETION_INDEX and use auto/N, run in a Slurm array, or use --shard I/N"
                    : "set JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID, or use --shard I/N"
            )
        }
        self.shard = shard
        variable = environment["JOB_COMPLETION_INDEX"] != nil ? "JOB_COMPLETION_INDEX" : "SLURM_ARRAY_TASK_ID"
    }

    /// `part 2 of 4 (from 0), told by SLURM_ARRAY_TASK_ID`.
    var words: String {
        "part \(shard.index)/\(shard.count)" + (variable.map { ", from \($0)" } ?? "")
    }
}
