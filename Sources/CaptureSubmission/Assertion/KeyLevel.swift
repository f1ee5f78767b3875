/// How well the key is protected, as far as a server was shown (contract 3.4). Never anything that is not there.
public enum KeyLevel: String, Sendable, CaseIterable {
    /// A file, or a key whose home was not proven.
    case software
    /// In a TPM 2.0, with the certification of its attestation key.
    case tpm2
    /// Enrolled elsewhere (`reference` with `--device-id`): the server knows, this machine does not.
    case enrolledElsewhere = "enrolled_elsewhere"
}
