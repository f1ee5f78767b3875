import Glibc
public import Testing

extension Trait where Self == ConditionTrait {
    /// Runs a test only where the program's memory use is its own: a sanitizer keeps metadata for every byte
    /// (`scripts/sanitize.sh`).
    public static var measuresMemory: Self {
        let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
        return .disabled(if: isSanitized, "a sanitizer uses additional memory")
    }
}
